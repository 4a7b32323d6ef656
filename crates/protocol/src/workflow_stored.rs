//! How a workflow is held in the store: the reference form and the form with conditions.
