import { type Command, CommanderError, Option } from 'commander';
import { UserError } from '../errors.ts';
import { inspectedNode } from '../node/doctor/inspected-node.ts';
import type { NodeFlags } from '../node/options/node-options.ts';
import { countLevels, findingsText, isUnicode } from './doctor/findings-text.ts';
import { addFlagsOfRun } from './flags-of-run.ts';
import type { CommandDeps } from './io/deps.ts';
import { jsonText } from './io/json-text.ts';
import { paint } from './io/paint.ts';
import { isColoured } from './io/terminal.ts';

interface DoctorFlags extends NodeFlags {
  registry?: string;
  output: 'text' | 'json';
}

const exitCodes = { problems: 1, usage: 2 };

export function register(program: Command, deps: CommandDeps): void {
  withUsageCode(addFlagsOfRun(program.command('doctor')))
    .description('Check this machine and suggest fixes')
    .argument('[manifests...]', 'files or folders of manifests, as for run')
    .option('--registry <host>', 'check this image registry too, for at most 5 s')
    .addOption(new Option('-o, --output <format>', 'format of the report').choices(['text', 'json']).default('text'))
    .addHelpText('after', help)
    .exitOverride(({ exitCode, code, message }) => {
      throw new CommanderError(exitCode === 0 ? 0 : exitCodes.usage, code, message);
    })
    .action(async (manifests: string[], flags: DoctorFlags) => {
      await doctor(manifests, flags, deps);
    });
}

const help = `
Changes nothing. Give doctor the same flags and manifests as run. Without root, it checks less.

Exit codes: 0 no problems, 1 problems, 2 an invalid flag.

Examples:
  kubelet-ts doctor                             checks this machine
  kubelet-ts doctor --config kubelet.yaml       with the configuration of the node
  kubelet-ts doctor --registry registry.example checks that registry too
  kubelet-ts doctor -o json                     for scripts`;

async function doctor(manifests: readonly string[], flags: DoctorFlags, deps: CommandDeps): Promise<void> {
  refuseRegistry(flags.registry);
  const { diagnose } = await import('../node/doctor/diagnose.ts');
  const findings = await diagnose({ ...(await inspectedNode(flags, manifests)), registry: flags.registry });
  const counts = countLevels(findings);
  const form = { painted: paint(isColoured(deps.stdout)), hasUnicode: isUnicode(process.env) };
  deps.stdout.write(
    flags.output === 'json' ? jsonText({ summary: counts, findings }, 2) : findingsText(findings, form),
  );
  if (counts.problem > 0) deps.setExitCode(exitCodes.problems);
}

/** Gives an invalid flag another exit code, because 1 means problems. */
function withUsageCode(command: Command): Command {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (argv) => {
    try {
      return parse(argv);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const { message, hint } = error;
      throw new UserError(message, { ...(hint !== undefined && { hint }), exitCode: exitCodes.usage, cause: error });
    }
  };
  return command;
}

function refuseRegistry(registry: string | undefined): void {
  if (registry === undefined || /^(?:https?:\/\/)?(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?$/.test(registry)) return;
  throw new UserError(`--registry ${JSON.stringify(registry)} is not a host`, {
    hint: 'Write it as registry.example or registry.example:5000.',
    exitCode: exitCodes.usage,
  });
}
