-- cell: a text that a spreadsheet would read as a formula gets an apostrophe before it. rounded: to six decimals, with
-- no minus before a zero. instant: epoch seconds as ISO 8601 in UTC.
CREATE OR REPLACE TEMP MACRO cell(words) AS
    CASE WHEN regexp_matches(words, '^[-=+@\t\r]') THEN '''' || words ELSE words END;
CREATE OR REPLACE TEMP MACRO rounded(amount) AS round(amount, 6) + 0.0;
CREATE OR REPLACE TEMP MACRO instant(at_s) AS
    strftime(make_timestamp(CAST(floor(at_s) AS BIGINT) * 1000000), '%Y-%m-%dT%H:%M:%SZ');
