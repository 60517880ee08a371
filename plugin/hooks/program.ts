// The command of the Rewind that the plugin calls. If it is empty, `python3` runs the library inside the plugin.
// `rewind install` writes its own copy of this file, with the command that it installed.
export const PROGRAM: readonly string[] = []
export const VERSION = '0.1.0'
