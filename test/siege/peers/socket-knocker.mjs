// Tries what a local user may not do: opens the sockets of an agent and of its runtime, and reads what is beside them.
// Arguments: paths. Tells every path that opened as a line `open PATH`, and `round` after each round.
import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const paths = process.argv.slice(1);
const opens = (path) =>
  new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

for (;;) {
  for (const path of paths) {
    const file = await open(path).catch(() => undefined);
    await file?.close();
    if (file !== undefined || (await opens(path))) process.stdout.write(`open ${path}\n`);
  }
  process.stdout.write('round\n');
  await sleep(500);
}
