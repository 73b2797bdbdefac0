import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commandCpuMs } from './command-time.ts';
import { type Figures, floor } from './figures.ts';
import { sampleManifests } from './sample-manifests.ts';

const count = 1000;
const maxRuns = 5;

/** The floor: only the YAML library, on every file in a folder. */
const parseAll = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { parse } from 'yaml';
  const folder = process.argv[1];
  for (const name of readdirSync(folder)) parse(readFileSync(folder + '/' + name, 'utf8'));
`;
const contestants = {
  // With the heap of bin/kubelet-ts, because garbage collection is a large part of the cost.
  [floor]: [process.execPath, '--max-semi-space-size=1', '--input-type=module', '--eval', parseAll],
  // `validate` reads manifests as `run` does.
  'kubelet-ts': ['bin/kubelet-ts', 'validate'],
};

/**
 * Measures the CPU for reading many manifests in a new process, minus that for reading one, compared with the bare YAML
 * library.
 */
export async function measureReading({ figures, runs }: { figures: Figures; runs: number }): Promise<void> {
  const folder = await mkdtemp('/tmp/kubelet-ts-reading-');
  try {
    for (const [size, manifestOf] of Object.entries(sampleManifests)) {
      const quantity = { what: `CPU to read ${count} manifests of ${size}`, unit: 'ms' } as const;
      const many = await manifestsIn(join(folder, `${size} ${count}`), manifestOf, count);
      const one = await manifestsIn(join(folder, `${size} 1`), manifestOf, 1);
      for (let run = 0; run < Math.min(runs, maxRuns); run++) {
        for (const [who, command] of Object.entries(contestants)) {
          const base = await commandCpuMs([...command, one]);
          figures.add(quantity, who, (await commandCpuMs([...command, many])) - base);
        }
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function manifestsIn(folder: string, manifestOf: (name: string) => string, pods: number): Promise<string> {
  await mkdir(folder);
  for (let index = 0; index < pods; index++) {
    const name = `reading-${index}`;
    await writeFile(join(folder, `${name}.yaml`), manifestOf(name));
  }
  return folder;
}
