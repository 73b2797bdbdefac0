import { readlink, realpath, rm } from 'node:fs/promises';
import { isSea } from 'node:sea';
import { dirname, resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import { withFileLock } from '../../files/file-lock.ts';
import { pathExists } from '../../files/path-exists.ts';
import { credentialFiles, parseHeader } from '../../node/options/url-credentials.ts';
import { awaitHealth } from '../../node/upgrade/await-health.ts';
import { isProgram, readHeaderOf } from '../../node/upgrade/own-program-file.ts';
import { programFiles } from '../../node/upgrade/program-files.ts';
import { fetchProgram, type ProgramTrust, readProgramFile } from '../../node/upgrade/read-program.ts';
import { replaceProgram } from '../../node/upgrade/replace-program.ts';
import { type Trial, tryNext } from '../../node/upgrade/try-next.ts';
import { isHTTP, shownURL } from '../../origins/http/url.ts';
import { requireRoot } from '../../process/needs-root.ts';
import { programVersion } from '../../process/program-version.ts';
import { listAgents } from '../../server/control/list-agents.ts';
import { visible } from '../../text/visible-text.ts';
import { abortOnSignal } from '../images/open-images.ts';
import type { CommandDeps } from '../io/deps.ts';
import { initCommand, runInitCommand } from '../service/init-command.ts';
import { type ProgramService, servicesOfProgram } from '../service/services-of-program.ts';

export interface UpgradeFlags {
  rootDir: string;
  check?: boolean;
  sha256?: string;
  publicKey?: ProgramTrust['publicKeys'];
  cosignKey?: string[];
  urlHeader?: string[];
  urlCaFile?: string;
  urlCertFile?: string;
  urlKeyFile?: string;
  urlTokenFile?: string;
  force?: boolean;
  timeout?: number;
}

const defaultTimeoutMs = 300_000;
const lockFolder = '/run/kubelet-ts-upgrade';

/** Replaces this executable. Rejects with a `UserError`; unless it names the restart, nothing has changed then. */
export async function upgradeProgram(location: string, flags: UpgradeFlags, deps: CommandDeps): Promise<void> {
  const program = await ownExecutable();
  requireRoot();
  const print = (line: string): void => void deps.stdout.write(`${visible(line)}\n`);
  await abortOnSignal(async (signal) => {
    const upgrade = async (): Promise<void> => {
      const content = await readProgram(location, program, flags, signal);
      const own = await readHeaderOf(program);
      if (own === undefined) throw new Error(`${program} has no header`);
      if (await isProgram(program, content)) {
        print(`${program} is this program already`);
        return;
      }
      const trial = await tryNext(program, {
        own,
        content,
        rootDirs: await rootDirs(program, flags),
        isForced: flags.force === true,
      });
      for (const line of trialLines(trial)) print(line);
      const services = await servicesOfProgram(program);
      if (flags.check === true) {
        await rm(programFiles(program).next, { force: true });
        print(`Would replace ${program}, keep ${programVersion} as ${programFiles(program).previous}, and restart:`);
        print(services.length === 0 ? 'nothing, because no service runs it' : services.map(unitOf).join(', '));
        return;
      }
      const kept = await replaceProgram(program, programVersion, trial.version, signal);
      print(`Replaced ${program}. ${kept} is kept as ${programFiles(program).previous}`);
      const timeoutMs = flags.timeout ?? defaultTimeoutMs;
      await restart(program, { version: trial.version, kept }, services, { signal, timeoutMs, print });
    };
    await withFileLock(lockFolder, systemClock, upgrade, { signal });
  });
}

/** Rejects with a `UserError` if this program is not one file, or if a package of Debian installed it. */
async function ownExecutable(): Promise<string> {
  if (!isSea()) {
    throw new UserError('this kubelet-ts is a package of npm, not one executable', {
      hint: 'Install another release: npm install -g kubelet-ts-VERSION.tgz. Then restart the service.',
    });
  }
  const program = await realpath(process.execPath);
  const packaged = '/var/lib/dpkg/info/kubelet-ts.list';
  if (program !== '/usr/bin/kubelet-ts' || !(await pathExists(packaged))) return program;
  throw new UserError(`${program} belongs to the Debian package`, {
    hint: 'Install the package of another release, which the same guard protects: apt install ./kubelet-ts_VERSION.deb',
  });
}

/** The root-dir of the flags, and those of the agents that run this program. */
async function rootDirs(program: string, { rootDir }: UpgradeFlags): Promise<string[]> {
  const found = new Set([rootDir]);
  for (const agent of await listAgents()) {
    const file = await readlink(`/proc/${agent.pid}/exe`).catch(() => '');
    // Its file may have been replaced since it started.
    if (file.replace(/ \(deleted\)$/, '') === program) found.add(agent.rootDir);
  }
  return [...found];
}

async function readProgram(
  location: string,
  program: string,
  flags: UpgradeFlags,
  signal: AbortSignal,
): Promise<Buffer> {
  const { sha256, publicKey: publicKeys = [], cosignKey: cosignKeyFiles = [] } = flags;
  const trust = { sha256, publicKeys, cosignKeyFiles };
  const url = URL.canParse(location) ? new URL(location) : undefined;
  if (url === undefined) return readProgramFile(resolve(location), trust);
  if (!isHTTP(url)) throw new UserError(`${shownURL(url)} is not a URL of a web server`, { hint: 'Use https://.' });
  const headers = (flags.urlHeader ?? []).map((text) => parseHeader(text, '--url'));
  const files = credentialFiles('--url', {
    ca: flags.urlCaFile,
    cert: flags.urlCertFile,
    key: flags.urlKeyFile,
    token: flags.urlTokenFile,
  });
  return fetchProgram({ url, headers, files, folder: dirname(program) }, trust, signal);
}

function trialLines({ version, reads, writesLater }: Trial): string[] {
  const state = reads.length === 0 ? '' : `, and reads the state of ${reads.join(' and ')}`;
  return [
    `kubelet-ts ${version} runs on this machine${state}`,
    ...(writesLater
      ? [
          `It writes state that ${programVersion} does not read: after a downgrade, pods that you stopped may start again`,
        ]
      : []),
  ];
}

const unitOf = ({ init, name }: ProgramService): string => (init === 'systemd' ? `${name}.service` : name);

interface Restart {
  signal: AbortSignal;
  timeoutMs: number;
  print: (line: string) => void;
}

async function restart(
  program: string,
  { version, kept }: { version: string; kept: string },
  services: readonly ProgramService[],
  { signal, timeoutMs, print }: Restart,
): Promise<void> {
  const running = [];
  for (const service of services) if (await isRunning(service)) running.push(service);
  for (const service of services.filter(({ isGuarded }) => !isGuarded)) {
    print(`${unitOf(service)} has no guard: install it again with kubelet-ts install-service -- ARGS`);
  }
  if (running.length === 0) {
    print(`No service runs it. Restart your agent, which becomes kubelet-ts ${version}; its pods keep running`);
    return;
  }
  for (const { init, name } of running) {
    await runInitCommand(
      init === 'systemd' ? ['systemctl', '--no-block', 'restart', `${name}.service`] : ['rc-service', name, 'restart'],
    );
  }
  const names = running.map(unitOf).join(', ');
  const outcome = await awaitHealth(program, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
  if (outcome === 'healthy') print(`Restarted ${names}: kubelet-ts ${version} is healthy`);
  else if (outcome === 'restored') {
    throw new UserError(`kubelet-ts ${version} did not become healthy in three starts: ${kept} is restored`, {
      hint: `See why: journalctl -u ${running[0]?.name ?? 'kubelet-ts'}, or its log.`,
    });
  } else {
    throw new UserError(`kubelet-ts ${version} is not healthy yet; its third failed start restores ${kept}`, {
      hint: 'See what it waits for: kubelet-ts doctor',
    });
  }
}

/** False for a service that is stopped, which must not start. */
async function isRunning({ init, name }: ProgramService): Promise<boolean> {
  if (init === 'openrc') return !(await initCommand('rc-service', [name, 'status'])).failed;
  const { failed, stdout } = await initCommand('systemctl', [
    'show',
    '-p',
    'ActiveState',
    '--value',
    `${name}.service`,
  ]);
  return !failed && !['inactive', 'failed', 'deactivating'].includes(stdout.trim());
}
