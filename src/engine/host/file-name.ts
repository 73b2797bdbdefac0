/**
 * True: an entry of a folder can have this name, and it is below the folder. What the runtime or an earlier release calls a
 * pod by may be anything; where there can be nothing of it, there is nothing to make, and nothing to remove.
 */
export function isFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name) && Buffer.byteLength(name) <= maxBytes;
}

/** On the file systems of Linux. */
const maxBytes = 255;
