-- Whether the lease is that of the owner {owner}. Two owners are the same if machine and mark are: the first two words of the text.
-- The rest of the text is the name of the machine, which may change.
(split_part(lease_owner, ' ', 1), split_part(lease_owner, ' ', 2)) = (split_part({owner}, ' ', 1), split_part({owner}, ' ', 2))
