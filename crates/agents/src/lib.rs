//! Adapters over the agent kit.
