import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineSnapshot } from '../../src/engine/view/snapshot.ts';
import { CertificateAuthority } from '../fakes/certificate-authority.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { NetworkNamespace } from './network-namespace.ts';
import { cache, repository } from './program.ts';

/** Not a loopback address, so the registry is asked by HTTPS. The namespace alone has it. */
const address = '192.0.2.10';
const artifact = `${address}:5000/team/pods`;
/** For the password s3cret. */
const htpasswd = 'ada:$2b$04$K7LxBfF5wcO/nKu09ykE5OWyNspFQgjZY8oXtXTE6iK/cSPMyw0UK\n';
const login = { auths: { [`${address}:5000`]: { auth: Buffer.from('ada:s3cret').toString('base64') } } };
const withoutLog = ['--use-signing-config=false', '--tlog-upload=false'];

let folder: string;
let network: NetworkNamespace;
let registry: ChildProcess;
let cosign: (...words: string[]) => Promise<string>;
let agent: Agent;

beforeAll(async () => {
  const fetchProgram = async (name: string): Promise<string> => {
    const { stdout } = await execa(join(repository, 'scripts/fetch-program'), [name, cache]);
    return join(stdout, 'usr/bin', name);
  };
  const programs = { cosign: await fetchProgram('cosign'), registry: await fetchProgram('docker-registry') };
  folder = await mkdtemp('/tmp/kts-oci-');
  network = await NetworkNamespace.create();
  await execa('ip', ['-n', network.name, 'address', 'add', `${address}/32`, 'dev', 'lo']);
  const authority = await CertificateAuthority.make('authority of the registry');
  const { cert, key } = await authority.issue('registry', { ips: [address] });
  const configuration = {
    version: '0.1',
    log: { level: 'info' },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: `${address}:5000`, tls: { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') } },
    auth: { htpasswd: { realm: 'pods', path: join(folder, 'htpasswd') } },
  };
  const files = { 'ca.pem': authority.own.cert, 'cert.pem': cert, 'key.pem': key, htpasswd };
  const texts = { ...files, 'config.json': JSON.stringify(login), 'registry.yml': JSON.stringify(configuration) };
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
  registry = spawn('nsenter', [`--net=${network.path}`, programs.registry, 'serve', join(folder, 'registry.yml')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await untilListening(registry);
  const env = {
    ...{ HOME: folder, DOCKER_CONFIG: folder, SSL_CERT_FILE: join(folder, 'ca.pem') },
    ...{ COSIGN_PASSWORD: '', COSIGN_YES: 'true' },
  };
  cosign = async (...words) => {
    const enter = [`--net=${network.path}`, programs.cosign, ...words];
    return (await execa('nsenter', enter, { cwd: folder, env, all: true, timeout: 120_000 })).all;
  };
  for (const name of ['ours', 'other']) await cosign('generate-key-pair', '--output-key-prefix', name);
});
afterAll(async () => {
  await agent.cleanUp();
  const ended = once(registry, 'exit');
  registry.kill('SIGKILL');
  await ended;
  await network.remove();
  await rm(folder, { recursive: true });
});

/** Resolves when the registry has logged its address. */
async function untilListening({ stderr }: ChildProcess): Promise<void> {
  const lines: string[] = [];
  if (stderr !== null)
    for await (const line of createInterface({ input: stderr })) {
      lines.push(line);
      if (!line.includes('listening on')) continue;
      stderr.resume();
      return;
    }
  throw new Error(`the registry ended:\n${lines.join('\n')}`);
}

/** Pushes a pod of this version. Returns the digest of the artifact, which is the same each time. */
async function push(version: string, tag: string): Promise<string> {
  await mkdir(join(folder, version), { recursive: true });
  const pod = makePod('web', { annotations: { version }, containers: [shell('app', serve)] });
  await writeFile(join(folder, version, 'pod.yaml'), JSON.stringify(pod));
  const file = `${version}/pod.yaml:linux/amd64`;
  const output = await cosign('upload', 'blob', '-f', file, '--ct', 'application/yaml', `${artifact}:${tag}`);
  return /@(sha256:[0-9a-f]{64})$/m.exec(output)?.[1] ?? output;
}

const sign = (digest: string, key: string, ...flags: string[]): Promise<string> =>
  cosign('sign', '--key', `${key}.key`, ...withoutLog, ...flags, `${artifact}@${digest}`);

const problems = ({ sources }: EngineSnapshot): string[] =>
  sources.flatMap((source) => source.problems.map(({ message }) => message));

const untilProblem = (message: string): Promise<EngineSnapshot> =>
  agent.until((snapshot) => problems(snapshot).some((one) => one.includes(message)));

const untilVersion = (version: string): Promise<unknown> =>
  agent.untilPod('web', (pod) => pod.pod.metadata.annotations?.['version'] === version && isReady(pod));

test('pods come from a real registry if cosign signed them with the key, and else stay as they are', async () => {
  await sign(await push('1', 'v1'), 'ours', '--new-bundle-format=false');
  agent = await startAgent({
    networkNamespace: network.path,
    flags: [
      ...['--manifest-url', `oci://${artifact}:v1`, '--manifest-url-ca-file', join(folder, 'ca.pem')],
      ...['--manifest-url-cosign-key', join(folder, 'ours.pub'), '--http-check-frequency', '100ms'],
    ],
  });
  await untilProblem('the registry answered 401');
  await writeFile(join(agent.rootDir, 'config.json'), JSON.stringify(login), { mode: 0o600 });
  await untilVersion('1');
  const { id } = await agent.runningContainer('web');

  await untilProblem(`no key of --manifest-url-cosign-key signed ${await push('2', 'v1')}`);
  const ofOther = await push('3', 'next');
  await sign(ofOther, 'other');
  await push('3', 'v1');
  await untilProblem(`no key of --manifest-url-cosign-key signed ${ofOther}`);
  expect((await agent.runningContainer('web')).id).toBe(id);

  await sign(await push('4', 'next'), 'ours');
  await push('4', 'v1');
  await untilVersion('4');

  // As a damaged disk of the registry, or a thief, changes it.
  await sign(await push('5', 'next'), 'ours');
  const blobs = join(folder, 'data/docker/registry/v2/blobs');
  await execa('sh', ['-c', `grep -rl '"version":"5"' "$0" | xargs sed -i 's/"version":"5"/"version":"6"/'`, blobs]);
  await push('5', 'v1').catch(() => undefined);
  await untilProblem('the registry answered with other content than sha256:');
  await untilVersion('4');
});
