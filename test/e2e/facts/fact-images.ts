import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ImageConfig, type ImageFile, ociArchive } from '../../../src/containerd/pause/oci-archive.ts';
import { computeImageArchitecture } from '../../../src/containerd/pause/pause-image.ts';

/** An image with a numeric user and with settings that a pod can override. */
export const numericUserImage = 'localhost/user-by-number:1';
/** An image with a user that only the image's /etc/passwd defines. */
export const namedUserImage = 'localhost/user-by-name:1';
/** An image that contains a file and nothing to run. */
export const dataImage = 'localhost/data:1';

const accounts: readonly ImageFile[] = [
  { path: 'etc/passwd', type: 'file', content: 'root:x:0:0::/root:/bin/sh\nweb:x:1234:5678::/home/web:/bin/sh\n' },
  { path: 'etc/group', type: 'file', content: 'root:x:0:\nweb:x:5678:\nlogs:x:6000:web\n' },
];

const Env = ['PATH=/bin', 'COLOR=of the image', 'SIZE=of the image'];

/** Writes archives of these images into the folder from which a node imports. */
export async function writeFactImages(imagesFolder: string): Promise<void> {
  const busybox = await readFile('/bin/busybox');
  const programs: readonly ImageFile[] = [
    { path: 'bin/busybox', type: 'file', mode: 0o755, content: busybox },
    ...['sh', 'cat', 'id', 'sleep', 'pwd', 'tr', 'printf'].map((name): ImageFile => ({
      path: `bin/${name}`,
      type: 'symlink',
      target: 'busybox',
    })),
    { path: 'srv', type: 'directory', mode: 0o755 },
    ...accounts,
  ];
  const images: { name: string; files: readonly ImageFile[]; config?: ImageConfig }[] = [
    {
      name: numericUserImage,
      files: programs,
      config: { User: '1234:5678', Env, WorkingDir: '/srv', Entrypoint: ['sh', '-c'], Cmd: ['sleep 3600; exit'] },
    },
    { name: namedUserImage, files: programs, config: { User: 'web', Env, Cmd: ['sleep', '3600'] } },
    { name: dataImage, files: [{ path: 'model/weights', type: 'file', content: 'of the image' }] },
  ];
  const architecture = computeImageArchitecture(process.arch);
  for (const { name, files, config } of images) {
    const archive = await ociArchive({ name, architecture, layers: [files], ...(config && { config }) });
    await writeFile(join(imagesFolder, `${/\/(.*):/.exec(name)?.[1] ?? ''}.tar`), archive);
  }
}
