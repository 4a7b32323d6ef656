//! Splitting a Markdown answer into its front matter block and its body.
