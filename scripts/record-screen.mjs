// Runs a command in a terminal, sends it keys, and prints an asciicast (version 2) of its output.
// record-screen.mjs COLUMNSxROWS COMMAND KEY…: one key per second; `!COMMAND` runs in the background, '' waits.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const [size, command, ...keys] = process.argv.slice(2);
const [columns, rows] = size.split('x').map(Number);
const periodMs = 1000;

const terminal = spawn('script', ['-qefc', `stty columns ${columns} rows ${rows}; exec ${command}`, '/dev/null'], {
  stdio: ['pipe', 'pipe', 'inherit'],
  env: { ...process.env, TERM: 'xterm-256color' },
});
const ended = once(terminal, 'exit');
const since = performance.now();
const seconds = () => Math.round(performance.now() - since) / 1000;
const print = (entry) => process.stdout.write(`${JSON.stringify(entry)}\n`);

print({ version: 2, width: columns, height: rows, title: 'kubelet-ts ui' });
terminal.stdout.setEncoding('utf8').on('data', (text) => print([seconds(), 'o', text]));

await sleep(2 * periodMs);
for (const key of keys) {
  if (key.startsWith('!')) spawn('sh', ['-c', key.slice(1)], { stdio: 'ignore' });
  else terminal.stdin.write(key);
  await sleep(periodMs);
}
await ended;
