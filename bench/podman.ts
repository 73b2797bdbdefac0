import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { benchManifest, imageArchive } from './bench-pod.ts';
import { commandMs } from './command-time.ts';
import type { Figures, Quantity } from './figures.ts';
import type { Stage } from './stage.ts';

interface Podman {
  stage: Stage;
  figures: Figures;
  /** Path of the program. Undefined to measure nothing. */
  podman: string | undefined;
}

/** Measures `podman kube play` of this many pods, from the command until it returns. */
export async function measurePodman(
  { stage, figures, podman }: Podman,
  { quantity, pods, runs }: { quantity: Quantity; pods: number; runs: number },
): Promise<void> {
  if (podman === undefined) return;
  const folder = await stage.newFolder();
  const command = [podman, '--root', join(folder, 'root'), '--runroot', join(folder, 'run')];
  const manifests = join(folder, 'pods.yaml');
  await writeFile(manifests, Array.from({ length: pods }, (_, index) => benchManifest(`pod-${index}`)).join('\n---\n'));
  await commandMs([...command, 'load', '--input', imageArchive]);
  for (let run = 0; run < runs; run++) {
    figures.add(quantity, 'podman', await commandMs([...command, 'kube', 'play', '--network', 'host', manifests]));
    await commandMs([...command, 'kube', 'down', manifests]);
  }
}
