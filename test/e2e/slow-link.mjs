// Simulates a link with 300 ms latency and 10 kB/s between this terminal and a command on another terminal. Accepts all
// that the command writes, as long buffers do. Arguments: the file for the longest time in milliseconds that output
// waited for earlier output; columns; rows; the command.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers';

const delayMs = 300;
const bytesPerMs = 10;

const [report, columns, rows, ...words] = process.argv.slice(2);
const command = `stty cols ${columns} rows ${rows}; exec ${words.join(' ')}`;
const remote = spawn('script', ['-qfec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
let freeAt = 0;
let longestMs = 0;
remote.stdout.on('data', (bytes) => {
  const now = performance.now();
  freeAt = Math.max(now, freeAt) + bytes.length / bytesPerMs;
  longestMs = Math.max(longestMs, freeAt - now);
  setTimeout(() => process.stdout.write(bytes), freeAt - now + delayMs);
});
process.stdin.setRawMode(true);
process.stdin.on('data', (bytes) => {
  setTimeout(() => remote.stdin.write(bytes), delayMs);
});
process.on('SIGHUP', () => {
  remote.kill();
  process.exit();
});
remote.on('exit', () => {
  writeFileSync(report, String(longestMs));
  setTimeout(() => process.exit(), freeAt - performance.now() + delayMs);
});
