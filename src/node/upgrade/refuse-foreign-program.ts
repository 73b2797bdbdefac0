import { existsSync } from 'node:fs';
import { UserError } from '../../errors.ts';
import { type ELFHeader, readELFHeader } from './elf-header.ts';

/** Throws a `UserError` if the file is not a complete executable for the processor and the libc of this machine. */
export function refuseForeignProgram(content: Buffer, shown: string, own: ELFHeader, hasFile = existsSync): void {
  const header = readELFHeader(content);
  if (header === undefined) {
    throw new UserError(`${shown} is not an executable of Linux`, {
      hint: 'Name the file kubelet-ts of npm run package. Install a Debian package with apt, and a tarball with npm.',
    });
  }
  if (content.length < header.minBytes) {
    throw new UserError(`${shown} is cut off: it has ${content.length} of at least ${header.minBytes} bytes`, {
      hint: 'Copy or download it again.',
    });
  }
  if (header.machine !== own.machine) {
    throw new UserError(`${shown} is for ${header.machine}, and this machine has ${own.machine}`, {
      hint: `Build it on a machine with ${own.machine}.`,
    });
  }
  if (header.loader === undefined || header.loader === own.loader || hasFile(header.loader)) return;
  throw new UserError(`${shown} needs ${libcOf(header.loader)}, and this machine has no ${header.loader}`, {
    hint: 'Build it on a machine with the same libc as this one.',
  });
}

const libcOf = (loader: string): string => (loader.includes('musl') ? 'musl' : 'glibc');
