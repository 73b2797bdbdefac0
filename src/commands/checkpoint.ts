import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { isUnimplemented } from '../cri/errors.ts';
import { errorMessage, UserError } from '../errors.ts';
import { duration, addRuntimeOptions } from '../node/options/flags.ts';
import type { CommandDeps } from './io/deps.ts';
import type { OpenPod, PodFlags } from './pod/open-pod.ts';

interface CheckpointFlags extends PodFlags {
  container?: string;
  /** Milliseconds. */
  timeout?: number;
}

const defaultTimeoutMs = 120_000;

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('checkpoint'))
    .description('Save the state of a running container to an archive and print its path')
    .argument('<pod>', 'name, name without the node, or namespace/name')
    .option('-c, --container <name>', 'container (default: the default container of the pod)')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .option('--timeout <duration>', 'maximum duration (default: 2m)', duration)
    .addHelpText('after', examples)
    .action(async (podName: string, flags: CheckpointFlags) => {
      deps.stdout.write(`${await checkpoint(deps, podName, flags)}\n`);
    });
}

const examples = `
Examples:
  kubelet-ts checkpoint web -c app   writes <root-dir>/checkpoints/checkpoint-web-NODE_default-app-TIME.tar

The container keeps running. The archive holds its memory, including its secrets. Only root can read it.`;

async function checkpoint(deps: CommandDeps, podName: string, flags: CheckpointFlags): Promise<string> {
  const [{ withPod }, { runningContainer }, { writeCheckpoint }] = await Promise.all([
    import('./pod/open-pod.ts'),
    import('./pod/running-container.ts'),
    import('../engine/host/checkpoint-archive.ts'),
  ]);
  return withPod(deps, podName, flags, (opened) => {
    const { name, namespace } = opened.pod;
    const { name: container, id } = runningContainer(deps, opened, flags.container);
    const archive = { rootDir: flags.rootDir, podName: name, namespace, container, now: systemClock.now() };
    return writeCheckpoint(archive, (location) => written(opened, id, location, flags.timeout ?? defaultTimeoutMs));
  });
}

/** Rejects with a `UserError` if the runtime wrote no checkpoint. */
async function written({ runtime }: OpenPod, containerId: string, location: string, timeoutMs: number): Promise<void> {
  const timeout = BigInt(Math.max(1, Math.ceil(timeoutMs / 1000)));
  try {
    await runtime.checkpointContainer({ containerId, location, timeout }, { deadlineMs: timeoutMs });
  } catch (cause) {
    if (isUnimplemented(cause)) {
      throw new UserError('the container runtime does not support checkpoints', {
        hint: 'Use containerd 2.0 or newer, and install CRIU on this machine.',
        cause,
      });
    }
    throw new UserError(`the container runtime wrote no checkpoint: ${errorMessage(cause)}`, {
      hint: 'Install CRIU on this machine; "criu check" reports what is missing.',
      cause,
    });
  }
}
