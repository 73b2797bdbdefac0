import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import type { FakeStreamingServer } from '../../fakes/fake-streaming-server.ts';
import type { World } from '../../component/world.ts';
import type { LogFiles } from './recorded-pods.ts';
import type { RecordedAgent } from './recorded-agent.ts';

/** What was around the kubelet; README.md of test/golden/server describes it. */
export interface ServerSetup {
  commonFlags: string[];
  servers: Readonly<Record<string, RecordedServer>>;
  manifests: Readonly<Record<string, string>>;
  containerLogs: { files: LogFiles };
  varLog: Readonly<Record<string, string>>;
}

export interface RecordedServer {
  port?: number;
  tls?: boolean;
  /** A text refers to the flags of another server. */
  flags: readonly string[] | string;
  config?: object;
}

/** What a recording of 1.36 says about its servers. The rest is as in http.json. */
export interface ConfiguredSetup {
  servers: Readonly<Record<string, ConfiguredServer>>;
}

interface ConfiguredServer {
  port: number;
  tls?: boolean;
  /** The server whose configuration it has too. */
  as?: string;
  configuration?: object;
}

/** The configuration of all servers, as `setup.configuration` says in words. */
const commonConfiguration = {
  cgroupDriver: 'cgroupfs',
  clusterDomain: 'cluster.local',
  maxPods: 500,
  failSwapOn: false,
  failCgroupV1: false,
  address: '127.0.0.1',
  readOnlyPort: 10255,
  makeIPTablesUtilChains: false,
  featureGates: { PreventStaticPodAPIReferences: false },
  containerRuntimeEndpoint: 'unix://{base}/cri.sock',
  staticPodPath: '{dir}',
  resolvConf: '{base}/resolv.conf',
};
/** The flags of the recorded kubelet. */
const configuredFlags = [
  ...['--config={base}/kubelet-config.yaml', '--config-dir={base}/conf.d', '--root-dir={root}'],
  ...['--cert-dir={root}/pki', '--hostname-override=edge1', '--volume-plugin-dir={root}/flex', '--v=2'],
];

/** The servers of a recording of 1.36, which are configured by files, with what http.json says about all else. */
export function configuredSetup(
  { servers }: ConfiguredSetup,
  { manifests, containerLogs, varLog }: ServerSetup,
): ServerSetup {
  const configurationOf = (name: string): object => {
    const { as, configuration } = servers[name] ?? {};
    return { ...(as === undefined ? commonConfiguration : configurationOf(as)), ...configuration };
  };
  const entries = Object.entries(servers).map(([name, { port, tls = false }]): [string, RecordedServer] => [
    name,
    { port, tls, flags: [], config: configurationOf(name) },
  ]);
  return { commonFlags: configuredFlags, servers: Object.fromEntries(entries), manifests, containerLogs, varLog };
}

const refusals: Readonly<Record<string, Refusal>> = {
  rpcerror: new Refusal(codes.unknown, 'scripted exec error'),
  busy: new Refusal(codes.resourceExhausted, 'scripted exhaustion'),
  notfound: new Refusal(codes.notFound, 'scripted not found'),
};
const invalidArgument = 3;

/** What the recorded runtime answered to commands and streams. */
export function scriptRuntime({ runtime }: World, streaming: FakeStreamingServer): void {
  runtime.canCheckpoint = true;
  runtime.scriptExec(({ cmd: [program = '', ...words] }) => {
    const refusal = refusals[program];
    if (refusal !== undefined) throw refusal;
    const text = (value: string): Buffer => Buffer.from(value);
    if (program === 'echo') return { stdout: text(`${words.join(' ')}\n`) };
    if (program === 'both') return { stdout: text('to stdout\n'), stderr: text('to stderr\n') };
    if (program === 'fail') return { stdout: text('out'), stderr: text('err'), exitCode: 3 };
    return {};
  });
  runtime.scriptStreams((method, request) => {
    const { cmd: [program = ''] = [] } = request as { cmd?: string[] };
    const refusal = refusals[program];
    if (method === 'exec' && refusal !== undefined) throw refusal;
    const { stdin = false, stdout = false, stderr = false } = request as Record<string, boolean>;
    const hasStream = method === 'portForward' || stdin || stdout || stderr;
    if (!hasStream) throw new Refusal(invalidArgument, 'one of stdin, stdout, or stderr must be set');
    const url = method === 'exec' && program === 'badurl' ? 'http://127.0.0.1:1' : streaming.url;
    return `${url}/${method.toLowerCase()}/token`;
  });
}

/** True when the recorded pods are in the state in which requests were sent. */
export function isReady({ engine }: RecordedAgent): boolean {
  const crash = engine.pod('crash-edge1')?.pod.status?.containerStatuses?.[0];
  return (
    engine.isReady('web-edge1') &&
    engine.isReady('logs-edge1') &&
    engine.phase('done-edge1') === 'Succeeded' &&
    (crash?.restartCount ?? 0) >= 2 &&
    crash?.state?.waiting?.reason === 'CrashLoopBackOff' &&
    engine.waitingReason('pull-edge1', 'p') === 'ImagePullBackOff' &&
    engine.waitingReason('initing-edge1', 'm') === 'PodInitializing'
  );
}

/** The time of all files of the system logs. */
const writtenAt = new Date('2024-01-02T03:04:05Z');

/** Writes the recorded content of /var/log. Some values describe a content instead of being one. */
export async function writeSystemLogs({ systemLogs }: RecordedAgent, varLog: ServerSetup['varLog']): Promise<void> {
  const outside = join(systemLogs, '..', 'outside-of-logs');
  const folders = new Set([systemLogs, join(systemLogs, 'pods'), join(systemLogs, 'containers')]);
  for (const folder of folders) await mkdir(folder, { recursive: true });
  await writeFile(outside, 'outside\n');
  for (const [name, text] of Object.entries(varLog)) {
    if (name === 'note') continue;
    const path = join(systemLogs, name);
    folders.add(dirname(path));
    await mkdir(dirname(path), { recursive: true });
    if (text.startsWith('link to a file outside')) await symlink(outside, path);
    else if (text.startsWith('link to ')) await symlink(text.slice('link to '.length), path);
    else await writeFile(path, contentOf(text));
  }
  for (const name of Object.keys(varLog))
    if (name !== 'note') await utimes(join(systemLogs, name), writtenAt, writtenAt);
  for (const folder of [...folders].reverse()) await utimes(folder, writtenAt, writtenAt);
}

function contentOf(text: string): Uint8Array {
  const [, zipped] = /^gzip of (".*")$/.exec(text) ?? [];
  if (zipped !== undefined) return gzipSync(JSON.parse(zipped) as string);
  const [, bytes] = /^bytes ([\d ]+)$/.exec(text) ?? [];
  return bytes === undefined ? Buffer.from(text) : Uint8Array.from(bytes.split(' ').map(Number));
}
