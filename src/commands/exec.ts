import type { Command } from 'commander';
import type { CommandDeps } from './io/deps.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { refuseFlagsOfCommands } from './io/flags-of-commands.ts';
import type { PodFlags } from './pod/open-pod.ts';

interface ExecFlags extends PodFlags {
  container?: string;
  stdin?: boolean;
  tty?: boolean;
}

export function register(program: Command, deps: CommandDeps): void {
  refuseFlagsOfCommands(addRuntimeOptions(program.command('exec')))
    .description('Run a command in a container and exit with its exit code')
    .usage('[options] POD [--] COMMAND [ARG...]')
    .argument('<pod>', 'name, name without the node, or namespace/name')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('-c, --container <name>', 'container (default: the default container of the pod)')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .option('-i, --stdin', 'pass stdin to the command')
    .option('-t, --tty', 'with -i, run the command with a terminal')
    .showHelpAfterError('(put -- before a command with flags: kubelet-ts exec POD -- COMMAND; see --help)')
    .addHelpText('after', examples)
    .action(async (podName: string, command: string[], flags: ExecFlags) => {
      deps.setExitCode(await exec(deps, podName, command, flags));
    });
}

const examples = `
Examples:
  kubelet-ts exec web -- date                  runs in the default container of pod web
  kubelet-ts exec -it web -c app -- sh         opens a shell
  kubelet-ts exec -i web -- tar x < files.tar  reads input from a pipe

Exit codes: that of the command; 127 if it is not found, 126 if it cannot be executed, 1 for other failures.`;

async function exec(deps: CommandDeps, podName: string, command: string[], flags: ExecFlags): Promise<number> {
  const [{ withPod }, { runningContainer }, { inTerminal }, { execInContainer }] = await Promise.all([
    import('./pod/open-pod.ts'),
    import('./pod/running-container.ts'),
    import('./io/in-terminal.ts'),
    import('../cri/streaming/exec-in-container.ts'),
  ]);
  return withPod(deps, podName, flags, async (opened) => {
    const { id: containerID } = runningContainer(deps, opened, flags.container);
    const { stdin = false, tty = false } = flags;
    return inTerminal(deps, { stdin, tty }, (streams) =>
      execInContainer(opened.runtime, { containerID, command, ...streams }),
    );
  });
}
