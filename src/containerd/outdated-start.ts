import { open, readFile, readlink, stat } from 'node:fs/promises';
import { uptime } from 'node:os';
import type { ProcessIdentity } from '../process/process-identity.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that change how images are pulled. */
const variables = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
const certificateVariables = ['SSL_CERT_FILE', 'SSL_CERT_DIR'];

/** Where Go looks for the certificates of authorities. Go: crypto/x509 root_linux.go */
const usualCertificates = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** Returns the names of what differs. No values, because the URL of a proxy may contain a password. */
export function computeStartChanges(
  started: Environment,
  now: Environment,
  changed: { program: boolean; certificates: boolean },
): string[] {
  return [
    ...(changed.program ? ['the program containerd'] : []),
    ...[...variables, ...certificateVariables].filter((name) => (started[name] ?? '') !== (now[name] ?? '')),
    ...(changed.certificates ? ['the certificates of this machine'] : []),
  ];
}

/**
 * Returns what a running containerd would get if it was started now, and did not get: another program, proxy variables
 * or certificates. Returns [] if it has exited.
 */
export async function startChanges(
  { pid, startTicks }: ProcessIdentity,
  containerd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string[]> {
  try {
    const [environ, program, certificates] = await Promise.all([
      readFile(`/proc/${pid}/environ`, 'utf8'),
      isOtherProgram(pid, containerd),
      haveCertificatesChanged(startedAt(startTicks), env),
    ]);
    return computeStartChanges(parseEnvironment(environ), env, { program, certificates });
  } catch {
    // It has exited, or its program is being replaced. The next start compares again.
    return [];
  }
}

/** A script runs as another program, so only a removed file shows that it was replaced. */
async function isOtherProgram(pid: number, containerd: string): Promise<boolean> {
  const exe = `/proc/${pid}/exe`;
  if ((await readlink(exe)).endsWith(' (deleted)')) return true;
  const [running, installed] = await Promise.all([stat(exe), stat(containerd)]);
  const isSame = running.dev === installed.dev && running.ino === installed.ino;
  return !isSame && !(await isScript(containerd));
}

async function isScript(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer.toString() === '#!';
  } finally {
    await file.close();
  }
}

function parseEnvironment(environ: string): Record<string, string> {
  const pairs = environ.split('\0').map((line) => line.split('='));
  return Object.fromEntries(pairs.map(([name = '', ...value]) => [name, value.join('=')]));
}

/** Milliseconds since the epoch. Linux counts 100 ticks a second for user space. */
const startedAt = (startTicks: string): number => Date.now() - uptime() * 1000 + Number(startTicks) * 10;

/** True if the file of certificates was written after this time. A time in the future says nothing. */
async function haveCertificatesChanged(since: number, env: NodeJS.ProcessEnv): Promise<boolean> {
  const given = env['SSL_CERT_FILE'] ?? '';
  for (const path of given === '' ? usualCertificates : [given]) {
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined) return found.mtimeMs > since && found.mtimeMs <= Date.now();
  }
  return false;
}
