import { UserError } from '../../errors.ts';
import { ociArchive } from '../oci-archive.ts';
import { pausePrograms } from './pause-programs.ts';

/** Name of the image that holds the namespaces of a pod. No registry has it: it comes with this program. */
export const pauseImageName = 'kubelet-ts.io/pause:1';

/** The pause image as an OCI archive for a machine of this architecture, as Node names it (`process.arch`). */
export function pauseImageArchive(arch: string): Promise<Uint8Array> {
  const architecture = computeImageArchitecture(arch);
  const program = Buffer.from(pausePrograms[architecture], 'base64');
  return ociArchive({
    name: pauseImageName,
    architecture,
    layers: [[{ path: 'pause', type: 'file', content: program, mode: 0o755 }]],
    config: { Entrypoint: ['/pause'], User: '65535:65535', WorkingDir: '/' },
  });
}

/** The image world's name of a processor that we bring a pause program for. */
export function computeImageArchitecture(arch: string): keyof typeof pausePrograms {
  if (arch === 'x64') return 'amd64';
  if (arch === 'arm64') return 'arm64';
  throw new UserError(`kubelet-ts has no pause program for the processor architecture ${arch}`, {
    hint: 'Run a container runtime of your own and pass its socket with --container-runtime-endpoint.',
  });
}
