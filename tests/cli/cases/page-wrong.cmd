for pages in 0, ,0 0- 1..0 2-1 0-1-2 1.0-2 0,0 0-2,1 2,1.0,1.0; do imgstat --page=$pages good-pages.tif good-rgb.png; done
