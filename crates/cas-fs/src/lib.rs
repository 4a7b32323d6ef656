//! The content-addressed store on a filesystem.
