import type { Command } from 'commander';
import { resolve } from 'node:path';
import { controlSocketPath, requestShutdown, waitForEnd } from '../server/control-client.ts';
import type { CommandDeps } from './deps.ts';
import { addRuntimeOptions } from './flags.ts';

interface DownFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  all: boolean;
  podLogsDir: string;
  cgroupRoot: string;
}

export function registerDown(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('down'))
    .description('Stop kubelet-ts and stop and remove every pod it started')
    .option('--all', 'end the managed containerd too', false)
    .option('--pod-logs-dir <path>', 'folder of pod logs, as given to run', '/var/log/pods')
    .option('--cgroup-root <path>', 'cgroup of the pods, as given to run', '/')
    .addHelpText('after', examples)
    .action(async (flags: DownFlags) => {
      await down({ ...flags, rootDir: resolve(flags.rootDir) }, deps);
    });
}

const examples = `
Examples:
  kubelet-ts down          stops the agent and its pods, gracefully; manifests are not touched
  kubelet-ts down --all    ends the managed containerd too: nothing of kubelet-ts runs any more`;

async function down(flags: DownFlags, deps: CommandDeps): Promise<void> {
  const socket = controlSocketPath(flags.rootDir);
  if (await requestShutdown(socket)) {
    await waitForEnd(socket);
    deps.stdout.write('kubelet-ts stopped\n');
  }
  const { tearDownNode } = await import('./tear-down-node.ts');
  for (const pod of await tearDownNode(flags)) deps.stdout.write(`pod ${pod} removed\n`);
  if (!flags.all) return;
  const [{ hasManagedContainerd }, { ManagedContainerd }, { systemClock }, { createLogger }] = await Promise.all([
    import('../containerd/managed-paths.ts'),
    import('../containerd/managed-containerd.ts'),
    import('../clock.ts'),
    import('./create-logger.ts'),
  ]);
  if (!(await hasManagedContainerd(flags.rootDir))) return;
  const { logger } = await createLogger('text', 'warn');
  await new ManagedContainerd({ rootDir: flags.rootDir, clock: systemClock, logger }).stop();
  deps.stdout.write('managed containerd stopped\n');
}
