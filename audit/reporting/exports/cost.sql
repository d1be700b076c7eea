-- cost: the lines of cost.csv under the names of FOCUS 1.0 (FinOps Open Cost and Usage Specification), all of them, our
-- own columns (x_) last. No invoice stands behind it: billed, contracted and effective cost are what the price book
-- makes of what was held; list cost is empty where the site states the price. To six decimals; empty: not known.
SELECT empty AS "AvailabilityZone", rounded(line.usd) AS "BilledCost", cell(f.cluster) AS "BillingAccountId",
    cell(f.cluster) AS "BillingAccountName", 'USD' AS "BillingCurrency", instant(f.to_s) AS "BillingPeriodEnd",
    instant(f.from_s) AS "BillingPeriodStart", 'Usage' AS "ChargeCategory", empty AS "ChargeClass",
    line.description AS "ChargeDescription", 'Usage-Based' AS "ChargeFrequency",
    instant(line.to_s) AS "ChargePeriodEnd", instant(line.from_s) AS "ChargePeriodStart",
    empty AS "CommitmentDiscountCategory", empty AS "CommitmentDiscountId", empty AS "CommitmentDiscountName",
    empty AS "CommitmentDiscountStatus", empty AS "CommitmentDiscountType",
    rounded(line.core_hours) AS "ConsumedQuantity",
    CASE WHEN line.core_hours IS NOT NULL THEN 'Core-Hours' END AS "ConsumedUnit",
    rounded(line.usd) AS "ContractedCost", round(line.usd_per_hour, 10) AS "ContractedUnitPrice",
    rounded(line.usd) AS "EffectiveCost", cell(f.cluster) AS "InvoiceIssuerName",
    CASE WHEN line.is_list THEN rounded(line.usd) END AS "ListCost",
    CASE WHEN line.is_list THEN round(line.usd_per_hour, 10) END AS "ListUnitPrice", 'Standard' AS "PricingCategory",
    rounded(line.node_hours) AS "PricingQuantity",
    CASE WHEN line.node_hours IS NOT NULL THEN 'Hours' END AS "PricingUnit", cell(f.cluster) AS "ProviderName",
    cell(f.cluster) AS "PublisherName", empty AS "RegionId", empty AS "RegionName",
    cell(line.resource_id) AS "ResourceId", cell(line.family) AS "ResourceName",
    CASE WHEN line.resource_id IS NOT NULL THEN 'Slurm job' END AS "ResourceType", 'Compute' AS "ServiceCategory",
    'Slurm' AS "ServiceName", cell(line.node_class) AS "SkuId",
    cell(line.node_class || ' @ ' || round(line.usd_per_hour, 10)) AS "SkuPriceId",
    cell(line.account) AS "SubAccountId", cell(line.account) AS "SubAccountName", empty AS "Tags",
    line.kind AS "x_Kind", cell(line.user_name) AS "x_User", cell(line.partition) AS "x_Partition",
    cell(line.family) AS "x_Family", cell(line.state) AS "x_State", instant(line.submit_s) AS "x_Submit",
    rounded(line.used_usd) AS "x_UsedCost", rounded(line.kept_usd) AS "x_KeptCost",
    rounded(line.lost_usd) AS "x_LostCost", rounded(line.not_measured_usd) AS "x_NotMeasuredCost",
    rounded(line.recoverable_usd) AS "x_RecoverableCost", rounded(line.core_hours) AS "x_CoreHours",
    rounded(line.gpu_hours) AS "x_GpuHours", rounded(line.mem_gib_hours) AS "x_MemGiBHours",
    f.is_generated AS "x_GeneratedSample"
FROM (  -- sorted while the lines are narrow
    SELECT * FROM line ORDER BY submit_s NULLS LAST, resource_id, node_class, usd_per_hour, kind
) AS line
CROSS JOIN cost_file AS f
CROSS JOIN (SELECT CAST(NULL AS VARCHAR) AS empty) AS e
