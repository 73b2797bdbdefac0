import type { Command } from 'commander';
import { hasCode, UserError } from '../errors.ts';
import type { CommandDeps } from './io/deps.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { OpenPod, PodFlags } from './pod/open-pod.ts';

interface ExecFlags extends PodFlags {
  container?: string;
  stdin?: boolean;
  tty?: boolean;
}

/** A shell's exit code for a process killed by SIGPIPE, which kubectl is too. */
const brokenPipeExitCode = 141;

export function registerExec(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('exec'))
    .description('Run a command in a container and exit with its exit code')
    .usage('[options] POD -- COMMAND [ARG...]')
    .argument('<pod>', 'name, name without the node, or namespace/name')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('-c, --container <name>', 'container (default: the default container of the pod)')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .option('-i, --stdin', 'pass stdin to the command')
    .option('-t, --tty', 'run the command with a terminal, together with -i')
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
  const [{ withPod }, { openTerminal }, { execInContainer }] = await Promise.all([
    import('./pod/open-pod.ts'),
    import('./io/terminal.ts'),
    import('../cri/streaming/exec-in-container.ts'),
  ]);
  return withPod(deps, podName, flags, async (opened) => {
    const { runtime } = opened;
    const containerID = await runningContainer(deps, opened, flags.container);
    const terminal = openTerminal(deps, { stdin: flags.stdin ?? false, tty: flags.tty ?? false });
    // Each write reports the error of its stream.
    for (const stream of [deps.stdout, deps.stderr]) stream.on('error', () => undefined);
    try {
      return await execInContainer(runtime, {
        containerID,
        command,
        stdout: deps.stdout,
        stderr: deps.stderr,
        ...(flags.stdin === true ? { stdin: deps.stdin } : {}),
        ...terminal.execOptions,
      });
    } catch (error) {
      if (hasCode(error, 'EPIPE')) return brokenPipeExitCode;
      if (terminal.exitCode !== undefined) return terminal.exitCode;
      throw error;
    } finally {
      terminal.close();
    }
  });
}

async function runningContainer(deps: CommandDeps, { pod, why }: OpenPod, name: string | undefined): Promise<string> {
  const { defaultContainer, isRunning, namedContainer, podTitle } = await import('./pod/select-pod.ts');
  const { container, note } =
    name === undefined ? defaultContainer(pod) : { container: namedContainer(pod, name), note: '' };
  deps.stderr.write(note);
  const [newest] = container.attempts;
  if (newest !== undefined && isRunning(container)) return newest.id;
  const reason = why(container.name);
  const because = reason === undefined ? '' : `: ${reason}`;
  const hasRun = container.attempts.some(({ state }) => state !== 'CONTAINER_CREATED');
  throw new UserError(`container "${container.name}" of pod ${podTitle(pod)} is not running${because}`, {
    hint: hasRun
      ? `Show its output: kubelet-ts logs ${podTitle(pod)} -c ${container.name}`
      : `Show its events: kubelet-ts describe ${podTitle(pod)}`,
  });
}
