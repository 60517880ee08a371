// Which Rewind the plugin calls. Empty: the library that lies in the plugin itself, run by `python3`.
// `rewind install` writes its own copy of this file with the command that it installed.
export const PROGRAM: readonly string[] = []
export const VERSION = '0.1.0'
