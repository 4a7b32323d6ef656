//! How a workflow is written in YAML.
