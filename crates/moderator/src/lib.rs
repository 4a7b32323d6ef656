//! Routing: status maps, list edges with conditions, templates and the checks of a workflow.
