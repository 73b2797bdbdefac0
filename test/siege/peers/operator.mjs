// Runs a command every five seconds as an operator's shell does, and a Node that does nothing just before, and tells
// how long each took from its start to its end, a JSON object a line. Arguments: the command's words.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const everyMs = 5000;
const command = process.argv.slice(1);
// As the program, without the certificates that Node reads at its start.
const env = { ...process.env };
delete env.NODE_EXTRA_CA_CERTS;

async function time([file, ...words]) {
  const since = performance.now();
  const child = spawn(file, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  child.stdout.resume();
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaints = (complaints + text).slice(0, 500);
  });
  const closed = once(child, 'close');
  const [code] = await once(child, 'exit');
  const ms = performance.now() - since;
  await closed;
  return { ms, ...(code === 0 ? {} : { error: `ended with ${code}: ${complaints}` }) };
}

for (;;) {
  const next = sleep(everyMs);
  const node = await time([process.execPath, '-e', '0']);
  const ps = await time(command);
  process.stdout.write(`${JSON.stringify({ nodeMs: node.ms, psMs: ps.ms, error: node.error ?? ps.error })}\n`);
  await next;
}
