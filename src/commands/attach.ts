import type { Command } from 'commander';
import type { Container } from '../api/types.ts';
import { findContainer } from '../api/values/containers.ts';
import type { CommandDeps } from './io/deps.ts';
import { defaultDetachKeys } from './io/detach-keys.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { OpenPod, PodFlags } from './pod/open-pod.ts';

interface AttachFlags extends PodFlags {
  container?: string;
  stdin?: boolean;
  tty?: boolean;
  detachKeys: string;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('attach'))
    .description('Attach to a running container')
    .argument('<pod>', 'name, name without the node, or namespace/name')
    .option('-c, --container <name>', 'container (default: the default container of the pod)')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .option('-i, --stdin', 'pass stdin to the container, which needs stdin: true in its spec')
    .option('-t, --tty', 'with -i, pass the terminal to a container with tty: true')
    .option('--detach-keys <keys>', 'keys that detach and leave the container running', defaultDetachKeys)
    .addHelpText('after', examples)
    .action(async (podName: string, flags: AttachFlags) => {
      deps.setExitCode(await attach(deps, podName, flags));
    });
}

const examples = `
Examples:
  kubelet-ts attach web              shows what pod web prints from now on; Ctrl-C leaves
  kubelet-ts attach -it tool -c app  types into a container; ctrl-p ctrl-q leaves it running

Exit codes: 0 when the container exits or you detach, 1 if attaching fails.`;

async function attach(deps: CommandDeps, podName: string, flags: AttachFlags): Promise<number> {
  const [{ withPod }, { runningContainer }, { attachInTerminal }, { parseDetachKeys }] = await Promise.all([
    import('./pod/open-pod.ts'),
    import('./pod/running-container.ts'),
    import('./pod/attach-in-terminal.ts'),
    import('./io/detach-keys.ts'),
  ]);
  const detachKeys = parseDetachKeys(flags.detachKeys);
  return withPod(deps, podName, flags, async (opened) => {
    const container = runningContainer(deps, opened, flags.container);
    const { stdin, tty } = usableStreams(deps, flags, await declaredContainer(opened, container.name));
    return attachInTerminal(deps, opened.runtime, { container, stdin, tty, detachKeys, keysText: flags.detachKeys });
  });
}

async function declaredContainer({ declaredPod }: OpenPod, name: string): Promise<Container | undefined> {
  const pod = await declaredPod();
  return pod && findContainer(pod.spec, name);
}

/**
 * The streams that this container has. Prints a warning for each one that it lacks. kubectl: attach.go
 * AttachOptions.Run
 */
function usableStreams(
  { stderr }: Pick<CommandDeps, 'stderr'>,
  { stdin = false, tty = false }: AttachFlags,
  declared: Container | undefined,
): { stdin: boolean; tty: boolean } {
  if (declared === undefined) return { stdin, tty };
  const without = (field: string): void => {
    stderr.write(`warning: container ${declared.name} has no ${field}: true in its manifest\n`);
  };
  if (stdin && declared.stdin !== true) without('stdin');
  if (tty && declared.tty !== true) without('tty');
  return { stdin: stdin && declared.stdin === true, tty: tty && declared.tty === true };
}
