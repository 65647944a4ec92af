# dh $@ --with sframe: programs and libraries get .sframe before debug information is split off.
use strict;
use warnings;
use Debian::Debhelper::Dh_Lib;

insert_before('dh_strip', 'dh_sframe');

1;
