import { commandMs } from './command-time.ts';
import { FakeNode } from './fake-node.ts';
import { type Figures, floor } from './figures.ts';
import { makePrograms } from './programs.ts';

/** Number of commands per run of other measures. A command is short, and one differs much from the next. */
const commandsPerRun = 3;

/** Measures `ps` of the bundle and of the executable, each alternating with a Node that does nothing. */
export async function measurePs({ figures, runs }: { figures: Figures; runs: number }): Promise<void> {
  const programs = await makePrograms();
  for (const pods of [1, 50]) {
    const node = await FakeNode.open(pods);
    try {
      await node.ageManifests();
      await node.start();
      await node.atRest();
      const ps = ['ps', '--root-dir', node.root];
      // One program after another, because the bundle runs on the same Node as the floor, which leaves that Node in the
      // caches.
      for (const [who, program] of Object.entries(programs)) {
        const what = `ps of ${pods} ${pods === 1 ? 'pod' : 'pods'}, ${who}`;
        const commands: [string, readonly string[]][] = [
          [floor, [process.execPath, '-e', '0']],
          [who, [program, ...ps]],
        ];
        // The first ones fill the disk cache.
        for (let run = -1; run < runs * commandsPerRun; run++) {
          for (const [name, command] of run % 2 === 0 ? commands : commands.toReversed()) {
            const ms = await commandMs(command);
            if (run >= 0) figures.add({ what, unit: 'ms' }, name, ms);
          }
        }
      }
    } finally {
      await node.close();
    }
  }
}
