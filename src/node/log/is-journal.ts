/** True if a descriptor leads to systemd's journal, which names its device and inode: systemd.exec(5). */
export function isJournal(stream: string | undefined, { dev, ino }: { dev: bigint; ino: bigint }): boolean {
  return stream === `${dev}:${ino}`;
}
