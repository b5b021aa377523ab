"""AgentDojo's tasks played through a guard, and attackers who know the policies."""
