import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeName } from '../../e2e/agent.ts';
import { makePod, shell } from '../../e2e/manifests.ts';
import { type Attack, ports, type Siege } from '../attack.ts';
import { besiegingPods } from './besieging-pods.ts';
import { repeat } from './repeat.ts';

const token = 'reader-of-logs';
const readers = 40;
const commands = 3;

/** Clients of the HTTPS API and of `logs -f` that follow a log which grows all the time, and stop reading. */
export const stuckLogReaders: Attack = {
  name: 'stuck-log-readers',
  prepare: async ({ folder }) => {
    const tokens = join(folder, 'tokens.csv');
    await writeFile(tokens, `${token},reader,1\n`, { mode: 0o600 });
    return ['--address', '127.0.0.1', '--port', String(ports.api), '--token-auth-file', tokens];
  },
  carryOn: async (siege) => {
    const complaints: string[] = [];
    const follow = `/containerLogs/default/loud-log-${nodeName}/main`;
    const script = 'while :; do head -c 200000 /dev/zero | tr "\\0" x | fold -w 100; sleep 1; done';
    await Promise.all([
      besiegingPods(siege, 3_600_000, {
        'loud-log': () => makePod('loud-log', { containers: [shell('main', script)] }),
      }),
      siege.peer('stuck-log-readers.mjs', {
        arguments: [String(ports.api), token, follow, String(readers)],
        onLine: (line) => {
          if (line === 'round') siege.hit();
          else complaints.push(line);
        },
      }),
      repeat(siege, 5000, () => stuckCommands(siege)),
    ]);
    if (complaints.length > 0) throw new Error(`another reader got no answer: ${complaints.join(', ')}`);
  },
};

/** Some `logs -f` whose output is not read. */
async function stuckCommands({ agent, signal }: Siege): Promise<void> {
  const [command = '', ...words] = agent.commandLine(['logs', '-f', 'loud-log']);
  const stuck = Array.from({ length: commands }, () =>
    spawn(command, words, { stdio: ['ignore', 'pipe', 'ignore'], env: agent.environment }),
  );
  const ended = stuck.map((one) => once(one, 'exit'));
  const stop = (): void => {
    for (const one of stuck) one.kill('SIGKILL');
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const patience = setTimeout(stop, 10_000);
  await Promise.all(ended);
  clearTimeout(patience);
  signal.removeEventListener('abort', stop);
}
