/*
 * Headers in GNU's format, because busybox's tar does not read the pax names that libraries write. Names and link
 * targets are bytes, one character per byte.
 */
const blockBytes = 512;
/** Larger sizes are binary: 11 octal digits. */
const maxOctalSize = 8 ** 11 - 1;

export interface TarEntry {
  name: string;
  type: 'file' | 'directory' | 'symlink';
  /** Permissions. */
  mode: number;
  sizeBytes: number;
  modifiedSeconds: number;
  /** Target of a link. */
  linkName?: string;
}

const typeFlags = { file: '0', directory: '5', symlink: '2' } as const;

/** The header of an entry that root owns, after the records for a long name and link target. */
export function tarHeader({ name, linkName = '', ...entry }: TarEntry): Buffer {
  return Buffer.concat([
    ...(linkName.length > 100 ? longRecord('K', linkName) : []),
    ...(name.length > 100 ? longRecord('L', name) : []),
    block(typeFlags[entry.type], { ...entry, name, linkName }),
  ]);
}

/** Zeros that fill the last block of a file. */
export function tarPadding(sizeBytes: number): Buffer {
  return Buffer.alloc((blockBytes - (sizeBytes % blockBytes)) % blockBytes);
}

/** The end of an archive. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * blockBytes);

function longRecord(typeFlag: 'K' | 'L', text: string): Buffer[] {
  const content = Buffer.from(`${text}\0`, 'latin1');
  const fields = { name: '././@LongLink', linkName: '', mode: 0, sizeBytes: content.length, modifiedSeconds: 0 };
  return [block(typeFlag, fields), content, tarPadding(content.length)];
}

function block(typeFlag: string, fields: Omit<TarEntry, 'type' | 'linkName'> & { linkName: string }): Buffer {
  const header = Buffer.alloc(blockBytes);
  header.write(fields.name.slice(0, 100), 0, 'latin1');
  header.write(octal(fields.mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  writeSize(header, fields.sizeBytes);
  header.write(octal(Math.max(0, fields.modifiedSeconds), 11), 136);
  header.write(typeFlag, 156);
  header.write(fields.linkName.slice(0, 100), 157, 'latin1');
  header.write('ustar  \0', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}

function writeSize(header: Buffer, sizeBytes: number): void {
  if (sizeBytes <= maxOctalSize) header.write(octal(sizeBytes, 11), 124);
  else {
    header.writeUInt8(0x80, 124);
    header.writeBigUInt64BE(BigInt(sizeBytes), 128);
  }
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
