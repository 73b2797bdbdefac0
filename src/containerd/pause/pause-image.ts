import { UserError } from '../../errors.ts';
import { ociArchive } from './oci-archive.ts';

/** The pause program of each architecture in base64, made by ./rebuild from pause-<architecture>.s. */
export const pausePrograms = {
  amd64:
    'f0VMRgIBAQAAAAAAAAAAAAIAPgABAAAAoABAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEAAOAABAAAAAAAAAAEAAAAFAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAA8AAAAAAAAADwAAAAAAAAAAAQAAAAAAAAAQAAAAAAAAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACQAAAAAAAALgNAAAAvxEAAABIjTXH////MdJBuggAAAAPBbgOAAAAMf9IjTXP////DwW4gAAAAEiNPcH///8x9jHSQboIAAAADwWFwHjkuOcAAAAx/w8F',
  arm64:
    'f0VMRgIBAQAAAAAAAAAAAAIAtwABAAAAoABAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEAAOAABAAAAAAAAAAEAAAAFAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAA+AAAAAAAAAD4AAAAAAAAAAAAAQAAAAAAAQAAAAAAAAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACQAAAAAAAAMgQgNIgAoDSgf7/EAIAgNIDAYDSAQAA1OgQgNIAAIDSwf7/EAIAgNIDAYDSAQAA1CgRgNIg/v8QAQCA0gIAgNIDAYDSAQAA1ED//zfIC4DSAACA0gEAANQ=',
  arm: 'f0VMRgEBAQAAAAAAAAAAAAIAKAABAAAAcABAADQAAAAAAAAAAAAABTQAIAABAAAAAAAAAAEAAAAAAAAAAABAAAAAQADMAAAAzAAAAAUAAAAAAAEAAQAAAAIAAAAAAAAAAAAAAAAAAAACQAAAAAAAAK5woOMRAKDjLBBP4gAgoOMIMKDjAAAA769woOMAAKDjMBBP4gAgoOMIMKDjAAAA77FwoONEAE/iABCg4wAgoOMIMKDjAAAA7wAAUOP3//+6+HCg4wAAoOMAAADv',
  riscv64:
    'f0VMRgIBAQAAAAAAAAAAAAIA8wABAAAAmABAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEAAOAABAAAAAAAAAAEAAAAFAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAA/AAAAAAAAAD8AAAAAAAAAAAQAAAAAAAAAQAAAAAAAAACAAAAAAAAAAAAAAAAAAAAAkAAAAAAAACTCGAIEwUQAZcFAACThYX9EwYAAJMGgABzAAAAkwhwCBMFAACXBQAAk4VF/RMGAACTBoAAcwAAAJMIkAgXBQAAEwXF+5MFAAATBgAAkwaAAHMAAADjQgX+kwjgBRMFAABzAAAA',
} as const;

/**
 * Name of the pause image, which holds the namespaces of a pod. The image is part of this program and not in any
 * registry. A runtime that lost it would try to pull from port 80 of this machine, which only root may open.
 */
export const pauseImageName = 'localhost/kubelet-ts-pause:1';

/** The earlier name, which a containerd started by an earlier release still uses. */
export const earlierPauseImageName = 'kubelet-ts.io/pause:1';

/** Returns the pause image as an OCI archive. `arch` is an architecture as in `process.arch`. */
export function pauseImageArchive(arch: string, name = pauseImageName): Promise<Uint8Array> {
  const architecture = computeImageArchitecture(arch);
  const program = Buffer.from(pausePrograms[architecture], 'base64');
  return ociArchive({
    name,
    architecture,
    // The oldest that containerd knows, because the program runs on all of them. The default is v7.
    ...(architecture === 'arm' && { variant: 'v5' }),
    layers: [[{ path: 'pause', type: 'file', content: program, mode: 0o755 }]],
    config: { Entrypoint: ['/pause'], User: '65535:65535', WorkingDir: '/' },
  });
}

/** Returns the OCI name of an architecture that has a pause program. Throws a UserError for others. */
export function computeImageArchitecture(arch: string): keyof typeof pausePrograms {
  if (arch === 'x64') return 'amd64';
  if (arch === 'arm64' || arch === 'arm' || arch === 'riscv64') return arch;
  throw new UserError(`kubelet-ts has no pause program for the processor architecture ${arch}`, {
    hint: 'Run a container runtime of your own and pass its socket with --container-runtime-endpoint.',
  });
}
