import { expect, test } from 'vitest';
import { importImages } from '../../src/node/import-images.ts';
import type { ImportProgress } from '../../src/containerd/import-progress.ts';
import type { ImportedFolder } from '../../src/containerd/import-images-folder.ts';
import { UserError } from '../../src/errors.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { lineLogger } from '../fakes/line-logger.ts';

test('reports the progress of each archive in the log and to `onStarting`', async () => {
  const clock = new FakeClock();
  const { logger, lines } = lineLogger();
  let tell = (_progress: ImportProgress): void => undefined;
  let end = (_result: ImportedFolder): void => undefined;
  let doing = (): string | undefined => undefined;
  const importing = importImages({
    importFolder: (_signal, onProgress) => {
      tell = onProgress;
      return new Promise((resolve) => {
        end = resolve;
      });
    },
    clock,
    logger,
    signal: new AbortController().signal,
    onStarting: (now) => {
      doing = now;
      return Promise.resolve();
    },
  });
  await clock.advance(0);
  const progress = { file: '/images/app.tar', readBytes: 0, totalBytes: 300_000_000 };
  tell(progress);
  tell({ ...progress, readBytes: 135_000_000 });
  expect(doing()).toBe('loading image archive app.tar, 45% 135.0/300.0 MB');
  await clock.advance(3000);
  tell({ ...progress, readBytes: 300_000_000 });
  await clock.advance(3000);
  const names = ['localhost/app:1'];
  const imported = [{ file: progress.file, names }];
  const error = new UserError('it has no complete name', { hint: 'Save it with one.' });
  const failed = [
    { file: '/images/bad.tar', error },
    { file: '/images/worse.tar', error: new UserError('it is damaged') },
  ];
  end({ imported, failed, unchanged: [], names, ignored: [] });
  expect(await importing).toEqual(names);
  expect(doing()).toBeUndefined();
  await clock.advance(60_000);
  expect(lines).toEqual([
    'info Loading an image archive {"progress":"image archive app.tar, 0% 0.0/300.0 MB"}',
    'info Loading an image archive {"progress":"image archive app.tar, 45% 135.0/300.0 MB"}',
    'info Loading an image archive {"progress":"image archive app.tar, unpacking (300.0 MB)"}',
    'info Imported an image archive {"file":"/images/app.tar","names":["localhost/app:1"]}',
    'error An image archive was not imported {"file":"/images/bad.tar","err":"it has no complete name","hint":"Save it with one."}',
    'error An image archive was not imported {"file":"/images/worse.tar","err":"it is damaged"}',
  ]);
});

test('a folder that cannot be read is a warning with its remedy, and the start continues', async () => {
  const { logger, lines } = lineLogger();
  const unread = new UserError('Could not read the images folder /images: i/o error', { hint: 'Mend it.' });
  const names = await importImages({
    importFolder: () =>
      Promise.resolve({ imported: [], failed: [], unchanged: [], names: ['localhost/app:1'], ignored: [], unread }),
    clock: new FakeClock(),
    logger,
    signal: new AbortController().signal,
    onStarting: undefined,
  });
  expect({ names, lines }).toEqual({
    names: ['localhost/app:1'],
    lines: [
      'warn No image archive was imported {"err":"Could not read the images folder /images: i/o error","hint":"Mend it."}',
    ],
  });
});
