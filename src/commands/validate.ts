import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { ManifestProblem } from '../api/text/manifest-problem.ts';
import { readManagedHandlers } from '../containerd/managed-handlers.ts';
import { hasManagedContainerd } from '../containerd/managed-paths.ts';
import type { SourceUpdate } from '../engine/config/pod-source.ts';
import { UserError } from '../errors.ts';
import { addFlagsOfRun } from './flags-of-run.ts';
import type { CommandDeps } from './io/deps.ts';
import { printedObjects, listText } from './validate/printed-objects.ts';
import { collect } from '../node/options/flags.ts';
import { type NodeFlags, nodeOptions, type NodeOptions } from '../node/options/node-options.ts';
import { BrokenConfiguration } from '../node/options/read-configuration.ts';
import { remoteManifest } from '../node/sources/node-sources.ts';
import { objectText } from './io/json-text.ts';
import { problemReport } from './io/problem-report.ts';
import {
  asError,
  brokenManifestExitCode,
  joined,
  namedManifests,
  readManifests,
  readStdin,
} from '../node/sources/read-manifests.ts';
import { stdinOrigin } from '../node/sources/manifest-texts.ts';
import { emptyFolders } from '../node/sources/empty-folders.ts';
import { nodeLabels } from '../node/node-config.ts';
import { isURL } from '../node/options/url-for-path.ts';
import { withNodeClasses } from '../node/sources/with-node-classes.ts';
import { isColoured } from './io/terminal.ts';
import { undeclaredObjects } from './validate/undeclared-objects.ts';
import { unreachableServers } from './validate/unreachable-servers.ts';
import { portsInUse } from './validate/ports-in-use.ts';
import { unknownHandlers } from './validate/unknown-handlers.ts';
import { inFileOrder, validationJSON, validationSummary } from './validate/validation-report.ts';

interface ValidateFlags extends NodeFlags {
  filename?: string[];
  output: Output;
  defaulted: boolean;
  cri: boolean;
  strict: boolean;
  portable: boolean;
  kustomize?: string[];
}
type Output = 'text' | 'json' | 'yaml';

export function register(program: Command, deps: CommandDeps): void {
  addFlagsOfRun(program.command('validate'))
    .description('Report all errors of manifests, without running them')
    .argument('[manifests...]', 'files or folders of manifests, - for stdin (default: those of --config and flags)')
    .option('-f, --filename <path>', 'file or folder of manifests, as an argument; repeatable', collect)
    .addOption(
      new Option('-o, --output <format>', 'format of the report').choices(['text', 'json', 'yaml']).default('text'),
    )
    .option('-k, --kustomize <folder>', 'build this folder with kustomize and check the result (repeatable)', collect)
    .option('--defaulted', 'print the pods with all defaults and their names on this node', false)
    .addOption(
      new Option('--cri', 'print the requests that the pods would send to the container runtime on this node')
        .default(false)
        .conflicts('defaulted'),
    )
    .option('--portable', 'warn of what a Kubernetes kubelet refuses in static pods, such as Secrets', false)
    .option('--strict', 'treat warnings as errors', false)
    .addHelpText('after', help)
    .action(async (manifests: string[], flags: ValidateFlags) => {
      await validate([...manifests, ...(flags.filename ?? [])], flags, deps);
    });
}

async function validate(manifests: readonly string[], flags: ValidateFlags, deps: CommandDeps): Promise<void> {
  const options = await checkedOptions(flags);
  const kustomizations = flags.kustomize ?? [];
  const { paths, urls } = sourcesOf(manifests, kustomizations, flags, options);
  const stdin = paths.includes('-') ? await readStdin(deps.stdin) : undefined;
  const { nodeName, featureGates, rootDir } = options;
  const files = await readManifests({
    manifests: paths,
    nodeName,
    featureGates,
    rootDir,
    stdin,
    kustomizations,
    allPositions: true,
    isPortable: flags.portable,
    withNotes: true,
  });
  const remote = await Promise.all(urls.map((url) => readURL(options, url, flags.portable)));
  const update = withNodeClasses(joined([files, ...remote]), options.runtimeClasses);
  const absent = options.offline
    ? await (await import('./validate/absent-images.ts')).absentImages(update, () => deps.connect(options))
    : [];
  const node = { name: nodeName, labels: nodeLabels(nodeName, process.arch, options.nodeLabels) };
  const isRead = (path: string): boolean => !files.problems.some(({ origin }) => origin === resolve(path));
  const empty = await emptyFolders(manifests.filter((path) => path !== '-' && !isURL(path) && isRead(path)));
  const ofMachine = await problemsOfMachine(update, options);
  const found = [
    ...empty,
    ...options.warnings,
    ...update.problems,
    ...undeclaredObjects(update, node),
    ...absent,
    ...ofMachine,
    ...(await portsInUse(update)),
  ];
  const problems = inFileOrder(flags.strict ? found.map(asError) : found);
  const checked = { ...update, problems };
  if (problems.some(({ severity }) => severity === 'error')) deps.setExitCode(brokenManifestExitCode);
  const objects = await objectsToPrint(checked, flags, options, deps);
  if (objects !== undefined) {
    // Machine-readable output is the only output on stdout.
    deps.stderr.write(reportText(checked, stdin, false));
    deps.stdout.write(await listText(objects, flags.output));
  } else if (flags.output === 'text') {
    deps.stdout.write(reportText(checked, stdin, isColoured(deps.stdout)));
  } else {
    deps.stdout.write(await objectText(validationJSON(checked), flags.output, 2));
  }
}

/** Warnings about this machine only. Empty unless we can see that an agent with a managed containerd ran here. */
async function problemsOfMachine(update: SourceUpdate, options: NodeOptions): Promise<ManifestProblem[]> {
  const { rootDir, resolvConf, containerRuntimeEndpoint } = options;
  const isNode = containerRuntimeEndpoint === '' && (await hasManagedContainerd(rootDir).catch(() => false));
  if (!isNode) return [];
  const handlers = await readManagedHandlers(rootDir);
  return [...unknownHandlers(update, handlers), ...(await unreachableServers(update.pods, resolvConf))];
}

/** If a configuration names no manifests, only the configuration is checked. */
function sourcesOf(
  manifests: readonly string[],
  kustomizations: readonly string[],
  { config, configDir }: ValidateFlags,
  options: NodeOptions,
): ReturnType<typeof namedManifests> {
  const { manifestPaths, manifestURLs } = options;
  const isOnlyConfiguration = manifestPaths.length + manifestURLs.length === 0 && (config ?? configDir) !== undefined;
  return manifests.length + kustomizations.length > 0 || isOnlyConfiguration
    ? { paths: manifests, urls: [] }
    : namedManifests([], options);
}

/** Throws a `UserError` for mistakes. A broken configuration file exits with the code of a broken manifest. */
async function checkedOptions(flags: NodeFlags): Promise<NodeOptions> {
  try {
    return await nodeOptions(flags, []);
  } catch (error) {
    if (!(error instanceof BrokenConfiguration)) throw error;
    const { message, hint, cause } = error;
    throw new UserError(message, { ...(hint !== undefined && { hint }), exitCode: brokenManifestExitCode, cause });
  }
}

async function readURL(options: NodeOptions, url: string, isPortable: boolean): Promise<SourceUpdate> {
  const { readManifestURL } = await import('../node/sources/read-manifest-url.ts');
  return readManifestURL({ ...remoteManifest(options, url), isPortable });
}

async function objectsToPrint(
  update: SourceUpdate,
  { cri, defaulted }: ValidateFlags,
  options: NodeOptions,
  deps: CommandDeps,
): Promise<object[] | undefined> {
  if (defaulted) return printedObjects(update);
  if (!cri) return undefined;
  const { previewManifests } = await import('../node/preview/preview-manifests.ts');
  return previewManifests(update, options, deps.connect);
}

function reportText(update: SourceUpdate, stdin: Uint8Array | undefined, coloured: boolean): string {
  const textOf = (origin: string): string | undefined =>
    origin === stdinOrigin ? stdin && Buffer.from(stdin).toString() : fileText(origin);
  const folder = process.cwd();
  const reports = update.problems.map((problem) => problemReport(problem, { textOf, folder, isColoured: coloured }));
  return [...reports, `${validationSummary(update)}\n`].join('');
}

/** The file's current content, to show one of its lines. Returns undefined if the file is missing. */
function fileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const help = `
Folders and flags mean the same as in kubelet-ts run. validate needs neither a runtime nor root.
With --offline, an image that the container runtime does not have is an error.
Values of Secrets are never printed.

Exit codes: 0 no errors, perhaps warnings; 2 errors, also in the files of --config; 1 an invalid flag.

Examples:
  kubelet-ts validate --config kubelet.yaml checks the pods of its staticPodPath and staticPodURL
  kubelet-ts validate pods/                 reports each problem with file, line, field and fix
  kubelet-ts validate --strict -o json -    reads stdin, reports as JSON, treats warnings as errors
  kubelet-ts validate -k overlays/edge      builds a kustomization and checks its pods
  kubelet-ts validate --portable --strict pods/  fails if a Kubernetes kubelet would refuse a pod
  kubelet-ts validate --defaulted web.yaml  prints the pod with all defaults, as YAML
  kubelet-ts validate --cri web.yaml        prints the requests to the container runtime`;
