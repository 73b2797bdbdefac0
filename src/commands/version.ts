import { type Command, Option } from 'commander';
import { errorMessage, UserError } from '../errors.ts';
import { addRuntimeOptions, referenceVersion } from '../node/options/flags.ts';
import { withRuntime } from '../node/with-runtime.ts';
import { programVersion } from '../process/program-version.ts';
import { fetchAgent, fetchSnapshot } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { objectText } from './io/json-text.ts';

interface VersionFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  client?: boolean;
  output?: 'json' | 'yaml';
}

interface RuntimeVersion {
  name: string;
  version: string;
  /** Absent if the runtime was queried without an agent. */
  endpoint?: string;
}

/** What `version -o json` prints. */
interface Versions {
  client: { version: string; kubernetesVersion: string; nodeVersion: string };
  /** Absent with --client, and if no agent runs. */
  agent?: { version: string; pid: number; nodeName?: string };
  /** Absent with --client, and if no runtime answers. */
  runtime?: RuntimeVersion;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('version'))
    .description('Show the versions of client, agent and runtime')
    .option('--client', 'show only the version of this program')
    .addOption(new Option('-o, --output <format>', 'json or yaml').choices(['json', 'yaml']))
    .addHelpText('after', examples)
    .action(async (flags: VersionFlags) => {
      const { versions, problems } = flags.client === true ? onlyClient : await allVersions(flags, deps);
      if (flags.output !== undefined) deps.stdout.write(await objectText(versions, flags.output, 2));
      else deps.stdout.write(versionsText(versions, flags));
      for (const problem of problems) deps.stderr.write(`${visible(problem)}\n`);
    });
}

const examples = `
After an upgrade, the agent runs its earlier version until you restart it. Its pods keep running meanwhile.

Examples:
  kubelet-ts version
  kubelet-ts version --client
  kubelet-ts version -o json`;

const client = { version: programVersion, kubernetesVersion: referenceVersion, nodeVersion: process.version };
const onlyClient = { versions: { client } satisfies Versions, problems: [] };

async function allVersions(
  flags: VersionFlags,
  deps: CommandDeps,
): Promise<{ versions: Versions; problems: string[] }> {
  const socket = controlSocketPath(flags.rootDir);
  const problems: string[] = [];
  const found = async <T>(work: () => Promise<T | undefined>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(`warning: ${errorMessage(error)}`);
      return undefined;
    }
  };
  const agent = await found(() => fetchAgent(socket));
  const snapshot = agent && (await found(() => fetchSnapshot(socket)));
  const runtime: RuntimeVersion | undefined = snapshot?.runtime ?? (await found(() => versionFromRuntime(flags, deps)));
  if (agent !== undefined && agent.version !== programVersion)
    problems.push('hint: Restart the agent to run the version of this program: systemctl restart kubelet-ts');
  return {
    versions: {
      client,
      ...(agent && { agent: { ...agentVersion(agent), ...(snapshot && { nodeName: snapshot.nodeName }) } }),
      ...(runtime && { runtime: shown(runtime) }),
    },
    problems,
  };
}

function shown({ name, version, endpoint }: RuntimeVersion): RuntimeVersion {
  return { name, version, ...(endpoint !== undefined && { endpoint }) };
}

/** An agent of an earlier release does not report its version. */
function agentVersion({ version = 'unknown', pid }: { version?: string; pid: number }): {
  version: string;
  pid: number;
} {
  return { version, pid };
}

async function versionFromRuntime(flags: VersionFlags, deps: CommandDeps): Promise<RuntimeVersion> {
  return withRuntime(deps.connect(flags), async ({ runtime }) => {
    const { runtimeName, runtimeVersion } = await runtime.version({});
    return { name: runtimeName, version: runtimeVersion };
  });
}

function versionsText({ agent, runtime }: Versions, { client: isClient, rootDir }: VersionFlags): string {
  const lines = [
    `Client:  kubelet-ts ${client.version}, Kubernetes ${client.kubernetesVersion}, Node.js ${client.nodeVersion}`,
  ];
  if (isClient !== true) {
    const node = agent?.nodeName === undefined ? '' : ` on node ${agent.nodeName}`;
    lines.push(
      agent === undefined
        ? `Agent:   none runs on ${rootDir}`
        : `Agent:   kubelet-ts ${agent.version} (pid ${agent.pid})${node}`,
      runtime === undefined
        ? 'Runtime: none answers'
        : `Runtime: ${runtime.name} ${runtime.version}${runtime.endpoint === undefined ? '' : `, ${runtime.endpoint}`}`,
    );
  }
  return `${lines.map(visible).join('\n')}\n`;
}
