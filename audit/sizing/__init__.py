"""What each job should have asked for: quantile models per cluster, learnt and scored in strict time order."""
