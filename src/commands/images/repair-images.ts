import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { abortOnSignal, type ImageFlags, startManaged } from './open-images.ts';

/**
 * Repairs these images of the managed containerd, or all, and prints what was damaged. Rejects with a `UserError` for
 * another runtime.
 */
export async function repairImages(names: readonly string[], flags: ImageFlags, deps: CommandDeps): Promise<void> {
  const print = (text: string): void => void deps.stdout.write(`${visible(text)}\n`);
  await abortOnSignal(async (signal) => {
    const managed = await startManaged(flags, signal);
    if (managed === undefined) {
      throw new UserError('kubelet-ts does not manage this container runtime, and never changes its store', {
        hint: 'Remove the image with the tools of the runtime, and pull or load it again.',
      });
    }
    try {
      const { damagedBlobs, imported, restored } = await managed.repairImages(names, signal);
      for (const digest of damagedBlobs) print(`Removed damaged blob: ${digest}`);
      for (const name of imported.imported.flatMap((archive) => archive.names)) print(`Loaded image: ${name}`);
      const damaged = restored.filter(({ files }) => files.length > 0);
      for (const { name, files } of damaged) print(`Restored files of image ${name}: ${files.join(', ')}`);
      if (damagedBlobs.length + damaged.length === 0) print('No image is damaged');
      else print('If a pod waits, it tries again soon, or now with: kubelet-ts retry POD');
    } finally {
      managed.release();
    }
  });
}
