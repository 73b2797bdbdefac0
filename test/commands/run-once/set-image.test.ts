import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/run-once.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

/** Parses a command line of `run-once`, and starts nothing. Returns the images to set. */
function imagesOf(...words: string[]): unknown {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  register(program, makeDeps(makeRuntime([], [])));
  const [command] = program.commands;
  command?.parseOptions(words);
  return command?.getOptionValue('set');
}

test('--set takes an image for the only container, and for a named one', () => {
  expect(
    imagesOf('--set', 'image=app:2', '--set', 'db.image=registry.example:5000/db@sha256:' + 'a'.repeat(64)),
  ).toEqual([
    { container: undefined, image: 'app:2' },
    { container: 'db', image: `registry.example:5000/db@sha256:${'a'.repeat(64)}` },
  ]);
});

test.each([
  ['image=App:2', '"App:2" is not the name of an image.'],
  ['image=app:2:3', '"app:2:3" is not the name of an image.'],
  ['db.image=my app', '"my app" is not the name of an image.'],
  ['image=', 'Write image=IMAGE or CONTAINER.image=IMAGE.'],
  ['db=app:2', 'Write image=IMAGE or CONTAINER.image=IMAGE.'],
])('--set %s is refused', (text, reason) => {
  expect(() => imagesOf('--set', text)).toThrow(
    `error: option '--set <container.image=image>' argument '${text}' is invalid. ${reason}`,
  );
});
