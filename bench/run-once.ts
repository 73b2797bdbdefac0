import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { commandMs } from './command-time.ts';
import { type Figures, floor } from './figures.ts';
import { jobManifest } from './bench-pod.ts';
import { measureFloorOfJob } from './floor.ts';
import type { Stage } from './stage.ts';

/** Measures a job that does nothing. For comparison, also measures the bare runtime and a Node that does nothing. */
export async function measureRunOnce(stage: Stage, figures: Figures, runs: number): Promise<void> {
  const quantity = { what: 'run-once --rm of a job that does nothing', unit: 'ms' } as const;
  const root = await stage.newFolder();
  const manifest = join(root, 'job.json');
  await writeFile(manifest, jobManifest('job'));
  const args = [
    ...[
      'bin/kubelet-ts',
      'run-once',
      '--rm',
      '-o',
      'json',
      '--root-dir',
      join(root, 'r'),
      '--pod-logs-dir',
      join(root, 'logs'),
    ],
    ...['--container-runtime-endpoint', `unix://${stage.socket}`, manifest],
  ];
  // Alternates, so that a busy moment of the machine affects both. The first runs create folders and cgroups.
  for (let run = -1; run < runs; run++) {
    const floorMs = await measureFloorOfJob(stage, `floor-${run + 1}`);
    const ownMs = await commandMs(args);
    if (run < 0) continue;
    figures.add(quantity, floor, floorMs);
    figures.add(quantity, 'kubelet-ts', ownMs);
    figures.add({ what: 'node -e 0', unit: 'ms' }, 'node', await commandMs([process.execPath, '-e', '0']));
  }
}
