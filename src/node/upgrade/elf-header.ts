/** What the header of an executable says about the machine that it is for. */
export interface ELFHeader {
  /** The processor, such as `x86_64`. */
  machine: string;
  /** The loader of its libc, such as `/lib/ld-musl-x86_64.so.1`. Undefined for a static program. */
  loader: string | undefined;
  /** How long the file must be. */
  minBytes: number;
}

/** Processors by number: elf(5), e_machine. */
const machines: Readonly<Record<number, string>> = {
  0x03: 'x86',
  0x15: 'ppc64',
  0x16: 's390x',
  0x28: 'arm',
  0x3e: 'x86_64',
  0xb7: 'aarch64',
  0xf3: 'riscv64',
};
/** The type of the segment that names the loader. */
const interpreterType = 3;

/** Offsets in the headers of 32-bit and 64-bit executables: elf(5). */
const layouts = {
  short: { segments: 28, sections: 32, sizes: 42, offset: 4, length: 16 },
  long: { segments: 32, sections: 40, sizes: 54, offset: 8, length: 32 },
};

/** Reads the header of an executable. Returns undefined for another file. */
export function readELFHeader(bytes: Buffer): ELFHeader | undefined {
  if (bytes.length < 64 || bytes.toString('latin1', 0, 4) !== '\u007FELF') return undefined;
  const [isLong, isLittle] = [bytes[4] === 2, bytes[5] === 1];
  const layout = isLong ? layouts.long : layouts.short;
  const half = (at: number): number => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const word = (at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const long = (at: number): number => Number(isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
  const address = isLong ? long : word;
  const tableEnd = (table: number, sizes: number): number => address(table) + half(sizes) * half(sizes + 2);
  const segmentsEnd = tableEnd(layout.segments, layout.sizes);
  const code = half(18);
  const header = {
    machine: machines[code] ?? `processor ${code}`,
    loader: undefined as string | undefined,
    minBytes: Math.max(segmentsEnd, tableEnd(layout.sections, layout.sizes + 4)),
  };
  const step = half(layout.sizes);
  if (segmentsEnd > bytes.length || step <= layout.length + 8) return header;
  for (let segment = address(layout.segments); segment < segmentsEnd; segment += step) {
    const [offset, length] = [address(segment + layout.offset), address(segment + layout.length)];
    header.minBytes = Math.max(header.minBytes, offset + length);
    if (word(segment) === interpreterType) header.loader = bytes.toString('latin1', offset, offset + length - 1);
  }
  return header;
}
