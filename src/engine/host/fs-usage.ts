/** Usage of a file system, or of a part of one. Unknown values are absent. */
export interface FsUsage {
  availableBytes?: number;
  capacityBytes?: number;
  usedBytes?: number;
  inodesFree?: number;
  inodes?: number;
  inodesUsed?: number;
}
