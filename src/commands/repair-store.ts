import type { Command } from 'commander';
import { requireRoot } from '../process/needs-root.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';

interface RepairFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('repair-store'))
    .description('Replace the damaged store of the managed containerd: its images and its records of containers')
    .addHelpText('after', help)
    .action(async (flags: RepairFlags) => {
      await repair(flags, deps);
    });
}

const help = `
Stops all pods, sets the store aside, starts containerd with a new one, and loads the archives in ROOT_DIR/images.
A running kubelet-ts then starts the pods again, and pulls missing images. The store holds neither volumes nor records
of pods, so revisions, stopped pods and completed jobs stay as they are.

Examples:
  kubelet-ts repair-store
  kubelet-ts repair-store --root-dir /data/kubelet-ts`;

async function repair({ rootDir, containerRuntimeEndpoint }: RepairFlags, deps: CommandDeps): Promise<void> {
  requireRoot('Only root can repair the store of containerd', 'Run it as root: sudo kubelet-ts repair-store');
  const [{ repairStore }, { describeSetAside }, { abortOnSignal }] = await Promise.all([
    import('../node/repair-store.ts'),
    import('../node/report-set-aside.ts'),
    import('./images/open-images.ts'),
  ]);
  const { store, stopped, imported, hasAgent } = await abortOnSignal((signal) =>
    repairStore({ rootDir, endpoint: containerRuntimeEndpoint, signal }),
  );
  const print = (text: string): void => void deps.stdout.write(`${visible(text)}\n`);
  print(`pods stopped: ${stopped.length}`);
  print(describeSetAside(store));
  for (const name of imported.imported.flatMap(({ names }) => names)) print(`Loaded image: ${name}`);
  print(hasAgent ? 'kubelet-ts starts the pods again' : 'kubelet-ts run starts the pods again');
  for (const { error } of imported.failed) {
    deps.stderr.write(`error: ${visible(error.message)}\n`);
    deps.setExitCode(1);
  }
}
