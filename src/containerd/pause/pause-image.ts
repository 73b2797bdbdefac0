import { UserError } from '../../errors.ts';
import { ociArchive } from './oci-archive.ts';
import { pausePrograms } from './pause-programs.ts';

/**
 * Name of the image that holds the namespaces of a pod. It comes with this program, and no registry serves it: a runtime that
 * lost it would ask port 80 of this machine, which root alone may open.
 */
export const pauseImageName = 'localhost/kubelet-ts-pause:1';

/** What it was called once; a containerd that was started by that release goes on to use it. */
export const earlierPauseImageName = 'kubelet-ts.io/pause:1';

/** The pause image as an OCI archive for a machine of this architecture, as Node names it (`process.arch`). */
export function pauseImageArchive(arch: string, name = pauseImageName): Promise<Uint8Array> {
  const architecture = computeImageArchitecture(arch);
  const program = Buffer.from(pausePrograms[architecture], 'base64');
  return ociArchive({
    name,
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
