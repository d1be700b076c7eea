-- family: the family of a job name: dates, UUIDs, hex strings of 8 or more with a digit in them, and runs of digits
-- each replaced by #, and several of these in a row by one. Attempts of one account and family are shown together.
regexp_replace(regexp_replace(regexp_replace(regexp_replace(coalesce(job_name, ''),
    '[0-9]{4}-[0-9]{2}-[0-9]{2}([T_ ][0-9]{2}[:.-]?[0-9]{2}([:.-]?[0-9]{2})?)?', '#', 'g'),
    '[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}'
        || '|[0-9][0-9A-Fa-f]{7,}|[0-9A-Fa-f]{1}[0-9][0-9A-Fa-f]{6,}|[0-9A-Fa-f]{2}[0-9][0-9A-Fa-f]{5,}'
        || '|[0-9A-Fa-f]{3}[0-9][0-9A-Fa-f]{4,}|[0-9A-Fa-f]{4}[0-9][0-9A-Fa-f]{3,}|[0-9A-Fa-f]{5}[0-9][0-9A-Fa-f]{2,}|[0-9A-Fa-f]{6}[0-9][0-9A-Fa-f]{1,}|[0-9A-Fa-f]{7,}[0-9][0-9A-Fa-f]*', '#', 'g'),
    '[0-9]+', '#', 'g'),
    '#([-_.:]?#)+', '#', 'g')
