import { readFile, stat } from 'node:fs/promises';
import { uptime } from 'node:os';
import type { ProcessIdentity } from '../process/process-identity.ts';

/** What a containerd reads only when it starts. */
export interface StartFacts {
  /** Device and inode of the program. */
  program: string;
  env: Readonly<Record<string, string | undefined>>;
}

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
export function computeStartChanges(started: StartFacts, now: StartFacts, certificatesChanged: boolean): string[] {
  return [
    ...(started.program === now.program ? [] : ['the program containerd']),
    ...[...variables, ...certificateVariables].filter((name) => (started.env[name] ?? '') !== (now.env[name] ?? '')),
    ...(certificatesChanged ? ['the certificates of this machine'] : []),
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
    const [running, installed, environ] = await Promise.all([
      stat(`/proc/${pid}/exe`),
      stat(containerd),
      readFile(`/proc/${pid}/environ`, 'utf8'),
    ]);
    const started = { program: `${running.dev}:${running.ino}`, env: parseEnvironment(environ) };
    const now = { program: `${installed.dev}:${installed.ino}`, env };
    return computeStartChanges(started, now, await haveCertificatesChanged(startedAt(startTicks), env));
  } catch {
    // It has exited, or its program is being replaced. The next start compares again.
    return [];
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
