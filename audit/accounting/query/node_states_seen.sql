-- node_states_seen: whether the evidence tells node states: it holds some, or a dump of them that is empty.
SELECT EXISTS (SELECT 1 FROM node_state) OR EXISTS (SELECT 1 FROM evidence_file WHERE kind = 'sacctmgr events')
    AS are_known
